/**
 * Chunks that a body of that size may have. Each costs this process as much as a thousand bytes, and a reader that collects them 160 bytes of
 * memory. A sender decides their number; those of a slow line, or words that are sent as they come, are far fewer.
 */
export const maxChunks = (bytes: number): number => 10_000 + bytes / 512
