import type { ContainerUsage } from '../ports/index.ts'
import type { Docker } from './connect.ts'
import { engineProblem, hasStatus } from './engine-problem.ts'

/** The engine measures twice, a second apart. Null for a container that does not run or is gone. */
export async function usage(docker: Docker, id: string): Promise<ContainerUsage | null> {
  try {
    const stats: Stats = await docker.getContainer(id).stats({ stream: false })
    return stats.memory_stats?.usage === undefined ? null : usageOf(stats)
  } catch (error) {
    if (hasStatus(error, 404)) return null
    throw engineProblem(error, `Measuring ${id.slice(0, 12)}`, 'DOCKER_UNAVAILABLE')
  }
}

type Cpu = Readonly<{ cpu_usage?: { total_usage?: number }; system_cpu_usage?: number; online_cpus?: number }>
/** Fields are missing where the host's kernel does not count them. */
type Stats = Readonly<{
  cpu_stats?: Cpu
  precpu_stats?: Cpu
  memory_stats?: Readonly<{ usage?: number; limit?: number; stats?: Readonly<Record<string, number>> }>
}>

const usageOf = ({ cpu_stats, precpu_stats, memory_stats: { usage, limit, stats } = {} }: Stats): ContainerUsage => ({
  cpuPercent: cpuPercent(cpu_stats, precpu_stats),
  // Like `docker stats`: without the file cache, which the kernel takes back when it needs the memory.
  memoryBytes: usage === undefined ? null : Math.max(0, usage - (stats?.inactive_file ?? stats?.total_inactive_file ?? 0)),
  memoryLimitBytes: limit ?? null,
})

function cpuPercent(now: Cpu | undefined, before: Cpu | undefined): number | null {
  const used = (now?.cpu_usage?.total_usage ?? Number.NaN) - (before?.cpu_usage?.total_usage ?? Number.NaN)
  const elapsed = (now?.system_cpu_usage ?? Number.NaN) - (before?.system_cpu_usage ?? Number.NaN)
  const percent = (used / elapsed) * (now?.online_cpus ?? 1) * 100
  return Number.isFinite(percent) ? Math.round(percent * 10) / 10 : null
}
