import { type Random, sha256Hex } from '../../core/kit/index.ts'

/** Bytes that depend on the seed and the order of the calls alone: a rehearsal can be repeated. Never for keys. */
export function seededRandom(seed: string): Random {
  let block = 0
  let left: number[] = []
  const refill = () => left.push(...Buffer.from(sha256Hex(`${seed}/${block++}`), 'hex'))
  return {
    bytes: (count) => {
      while (left.length < count) refill()
      const taken = left.slice(0, count)
      left = left.slice(count)
      return Uint8Array.from(taken)
    },
  }
}

/** From 0 up to, not including, 1. */
export const unit = (random: Random): number => Buffer.from(random.bytes(4)).readUInt32BE() / 2 ** 32
