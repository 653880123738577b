import { availableParallelism } from 'node:os'
import { contentFindings, type UpgradeFinding, type UpgradeTimes } from '../../core/boxes/index.ts'
import { type Clock, problem } from '../../core/kit/index.ts'
import type { BoxServers, UpgradeServers } from '../ports/index.ts'

/** Filled while the parts are done, so that a failure keeps what was found before it. */
export type Transferred = {
  findings: UpgradeFinding[]
  times: { -readonly [Part in keyof UpgradeTimes]: UpgradeTimes[Part] }
  dumpBytes?: number
  content?: Readonly<{ bytes: number; tables: number; rows: number }>
}

export const isRefused = ({ findings }: Pick<Transferred, 'findings'>): boolean => findings.some(({ severity }) => severity === 'refuse')

type Transfer = Readonly<{
  deps: Readonly<{ servers: Pick<BoxServers, 'upgrades'>; clock: Clock }>
  slug: string
  signal: AbortSignal
  begin(step: string): void
}>

/** No more than leave the host to its users. */
const jobs = Math.max(1, Math.min(4, availableParallelism() - 1))

/** Dumps, loads, runs ANALYZE and compares. A difference is a finding. Throws RESTORE_FAILED, SNAPSHOT_FAILED or DISK_FULL. */
export async function transfer({ deps, slug, signal, begin }: Transfer, servers: UpgradeServers, found: Transferred): Promise<void> {
  const { upgrades } = deps.servers
  const { former, next } = servers
  begin('next-dump')
  found.times.dumpMs = await timed(deps, async () => {
    found.dumpBytes = await failing('dump', () => upgrades.dump(servers, jobs, signal))
  })
  begin('next-load')
  found.times.loadMs = await timed(deps, () => failing('load', () => upgrades.load(servers, jobs, signal)))
  begin('analyze')
  found.times.analyzeMs = await timed(deps, () => failing('ANALYZE', () => upgrades.analyze(servers, jobs, signal)))
  begin('contents')
  found.times.compareMs = await timed(deps, async () => {
    const [before, after] = await Promise.all([upgrades.content(former, former, signal), upgrades.content(next, former, signal)])
    found.findings.push(...contentFindings(slug, before, after))
    const counts = Object.values(after.rows)
    found.content = { bytes: after.bytes, tables: counts.length, rows: counts.reduce((sum, count) => sum + count, 0) }
  })
}

export async function timed({ clock }: Readonly<{ clock: Clock }>, work: () => Promise<unknown>): Promise<number> {
  const begunMs = clock.monotonicMs()
  await work()
  return Math.round(clock.monotonicMs() - begunMs)
}

/** Names the part, since its message is that of a program. */
async function failing<Value>(part: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    const { code, message } = error as ReturnType<typeof problem>
    throw code === 'RESTORE_FAILED' || code === 'SNAPSHOT_FAILED'
      ? problem(code, `the ${part} with the new PostgreSQL failed: ${message}`, { cause: error })
      : error
  }
}
