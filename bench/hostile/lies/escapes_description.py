"""URLs, versions and hosts of the description that are escape sequences."""

import json

from wire.liar import ESCAPES, Server


class Lie(Server):
    may = ("error",)

    async def description(self, it):
        said = {"version": 1, "urls": {"small_download_url": ESCAPES, "large_download_url": ESCAPES, "upload_url": ESCAPES}}
        await it.say(200, json.dumps(said, ensure_ascii=False).encode())
