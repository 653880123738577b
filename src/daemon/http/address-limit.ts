import { type Clock, problem } from '../../core/kit/index.ts'

type Bucket = { tokens: number; at: number }

/** Counts requests per client address, a bucket each that refills at `perSecond` and holds twice that. Throws RATE_LIMITED. */
export function addressLimit(clock: Clock, perSecond: number): (address: string) => void {
  const buckets = new Map<string, Bucket>()
  return (address) => {
    const at = clock.monotonicMs()
    if (buckets.size > 10_000) forgetFull(buckets, at, perSecond)
    const bucket = buckets.get(address) ?? { tokens: perSecond * 2, at }
    bucket.tokens = Math.min(perSecond * 2, bucket.tokens + ((at - bucket.at) / 1000) * perSecond)
    bucket.at = at
    buckets.set(address, bucket)
    if (bucket.tokens < 1) throw problem('RATE_LIMITED', 'too many requests from this address: wait a second', { retryAfterSeconds: 1 })
    bucket.tokens -= 1
  }
}

function forgetFull(buckets: Map<string, Bucket>, at: number, perSecond: number): void {
  for (const [address, bucket] of buckets)
    if (bucket.tokens + ((at - bucket.at) / 1000) * perSecond >= perSecond * 2) buckets.delete(address)
}

/** IPv6 clients own a /64, so that is what counts as one address. */
export const addressKey = (address: string): string => {
  const plain = address.replace(/^::ffff:/, '')
  return plain.includes(':') ? plain.split(':').slice(0, 4).join(':') : plain
}
