const stepMs = 1000

/**
 * How long to hold a refusal back so that it leaves one second after the request came, or at the next full second after that: time then tells
 * nothing of why it was refused (SECURITY).
 */
export const holdBackMs = (elapsedMs: number): number => Math.max(1, Math.ceil(elapsedMs / stepMs)) * stepMs - elapsedMs
