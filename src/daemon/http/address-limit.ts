import { type Clock, problem } from '../../core/kit/index.ts'
import { addressTurns } from './address-turns.ts'

/** Counts requests per client address: so many a second, twice that at once. Throws RATE_LIMITED. */
export function addressLimit(clock: Clock, perSecond: number): (address: string) => void {
  const turnOf = addressTurns(clock, { perSecond, atOnce: 2 * perSecond, buffered: 0 })
  return (address) => {
    const turn = turnOf(address)
    if (!('turnMs' in turn)) throw problem('RATE_LIMITED', 'too many requests from this address: wait a second', turn)
  }
}
