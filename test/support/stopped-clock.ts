import type { Clock } from '../../src/core/kit/index.ts'

/** The clock of a killed process: its sleeps never end. */
export const stopped = (clock: Clock): Clock => ({ ...clock, sleep: () => new Promise<never>(() => undefined) })

/** Work that a killed process started. */
export const never = (begins: () => unknown): Promise<never> => {
  begins()
  return new Promise<never>(() => undefined)
}
