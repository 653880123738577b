import type { Clock } from '../../src/core/kit/index.ts'

/** The clock of a process that was killed while it worked: it wakes for nothing any more. */
export const stopped = (clock: Clock): Clock => ({ ...clock, sleep: () => new Promise<never>(() => undefined) })

/** Work that a killed process began. */
export const never = (begins: () => unknown): Promise<never> => {
  begins()
  return new Promise<never>(() => undefined)
}
