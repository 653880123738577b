import type { Clock } from '../../core/kit/index.ts'
import { settlingFetch } from '../../node/index.ts'
import type { Faults } from './faults.ts'

export type SimulatedMachine = Readonly<{ clock: Clock; fetch?: typeof globalThis.fetch }>

/** The machine's own clock and network as the faults of a simulated host let them be. */
export const simulatedChannel = (faults: Faults, { clock, fetch = settlingFetch }: SimulatedMachine): Required<SimulatedMachine> => ({
  clock: {
    ...clock,
    now: () => new Date(clock.now().getTime() + (faults.strike('clock-skew', {})?.offsetMs ?? 0)),
  },
  fetch: async (input, init) => {
    if (faults.strike('offline', {})) throw new TypeError('fetch failed', { cause: new Error('the simulated host is offline') })
    return fetch(input, init)
  },
})
