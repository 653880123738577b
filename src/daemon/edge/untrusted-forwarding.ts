import { join } from 'node:path'
import type { RequestHandler } from 'express'
import { z } from 'zod'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import { readIfThere, writeFileAtomic } from '../../node/index.ts'

/** The last untrusted peer that sent a forwarding header. */
const Untrusted = z.object({ peer: z.string(), header: z.string(), at: z.iso.datetime() })
export type Untrusted = z.infer<typeof Untrusted>

const fileIn = (dataDir: string) => join(dataDir, 'untrusted-forwarding.json')
const headers = ['x-forwarded-for', 'forwarded']
const recordEveryMs = 60_000

type Deps = Readonly<{ clock: Clock; dataDir: string; publish: (seen: Untrusted) => void; failed: (error: unknown) => void }>

/**
 * Notes that a peer which is no trusted proxy sends a forwarding header: either a proxy was forgotten, and all its clients count as one
 * address, or somebody tries to be another. The header itself is ignored. Kept in the data directory for `doctor`, once a minute at most.
 */
export function recordUntrusted({ clock, dataDir, publish, failed }: Deps): RequestHandler {
  let notedMs: number | undefined
  return (request, _, next) => {
    next()
    const header = headers.find((name) => request.headers[name] !== undefined)
    if (header === undefined) return
    const nowMs = clock.monotonicMs()
    if (notedMs !== undefined && nowMs - notedMs < recordEveryMs) return
    const peer = request.socket.remoteAddress ?? ''
    if (peer === '' || request.app.get('trust proxy fn')(peer, 0)) return
    const seen = { peer, header, at: isoNow(clock) }
    if (notedMs === undefined) publish(seen)
    notedMs = nowMs
    writeFileAtomic(fileIn(dataDir), JSON.stringify(seen), { mode: 0o600 }).catch(failed)
  }
}

/** The last recorded header; undefined if there is none or the file is not readable as one. */
export async function readUntrusted(dataDir: string): Promise<Untrusted | undefined> {
  const text = await readIfThere(fileIn(dataDir))
  if (text === undefined) return undefined
  try {
    return Untrusted.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}
