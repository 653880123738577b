import { createHash } from 'node:crypto'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { packageKey, type StoreDeps } from './deps.ts'

const sliceBytes = 1_000_000

/**
 * The bytes of a stored package and their SHA-256, in hex; undefined if it is missing. To hash or copy all of them at once would block the thread, so
 * threads share them. Throws OBJECT_STORE_UNAVAILABLE.
 */
export async function storedPackage({ objects }: Pick<StoreDeps, 'objects'>, artifactId: string) {
  const parts: Uint8Array[] = []
  const hash = createHash('sha256')
  for await (const part of (await objects.get(packageKey(artifactId))) ?? []) {
    hash.update(part)
    parts.push(part)
  }
  return parts.length === 0 ? undefined : { bytes: await joined(parts), sha256: hash.digest('hex') }
}

async function joined(parts: readonly Uint8Array[]): Promise<Buffer> {
  const bytes = Buffer.from(new SharedArrayBuffer(parts.reduce((sum, { length }) => sum + length, 0)))
  let [at, yieldedAt] = [0, 0]
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
    if (at - yieldedAt < sliceBytes) continue
    yieldedAt = at
    await yieldToEventLoop()
  }
  return bytes
}
