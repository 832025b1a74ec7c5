"""URLs on a third party's host."""

from wire.elsewhere import OTHER
from wire.liar import Server


class Lie(Server):
    may = ("error",)

    def describe(self):
        at = f"http://{OTHER}:{self.port}"
        return {"version": 1, "urls": {"small_download_url": f"{at}/small", "large_download_url": f"{at}/large", "upload_url": f"{at}/upload"}}
