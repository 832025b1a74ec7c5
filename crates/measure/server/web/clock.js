/** One clock for the page and its workers: ms since 1970, without the steps of the wall clock within one of them. */
export const now = () => performance.timeOrigin + performance.now();
