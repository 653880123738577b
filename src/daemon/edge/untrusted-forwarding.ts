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

type Deps = Readonly<{ clock: Clock; dataDir: string; publish: (untrusted: Untrusted) => void; failed: (error: unknown) => void }>

/**
 * Records that an untrusted peer sends a forwarding header: either a proxy is missing in the setting, and all its clients count as one
 * address, or a client forges its address. The header is ignored. Stored in the data directory for `doctor`, at most once a minute.
 */
export function recordUntrusted({ clock, dataDir, publish, failed }: Deps): RequestHandler {
  let recordedMs: number | undefined
  return (request, _, next) => {
    next()
    const header = headers.find((name) => request.headers[name] !== undefined)
    if (header === undefined) return
    const nowMs = clock.monotonicMs()
    if (recordedMs !== undefined && nowMs - recordedMs < recordEveryMs) return
    const peer = request.socket.remoteAddress ?? ''
    if (peer === '' || request.app.get('trust proxy fn')(peer, 0)) return
    const untrusted = { peer, header, at: isoNow(clock) }
    if (recordedMs === undefined) publish(untrusted)
    recordedMs = nowMs
    writeFileAtomic(fileIn(dataDir), JSON.stringify(untrusted), { mode: 0o600 }).catch(failed)
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
