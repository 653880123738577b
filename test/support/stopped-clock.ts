import type { Clock } from '../../src/core/kit/index.ts'

/** The clock of a process that is killed: its sleeps end with their signal alone. */
export const stopped = (clock: Clock): Clock => ({
  ...clock,
  sleep: (_, signal) => new Promise<void>((done) => signal?.addEventListener('abort', () => done(), { once: true })),
})

/** Work that a killed process started. */
export const never = (begins: () => unknown): Promise<never> => {
  begins()
  return new Promise<never>(() => undefined)
}
