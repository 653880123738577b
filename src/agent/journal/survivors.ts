import { readdir, readFile } from 'node:fs/promises'
import type { Clock } from '../../core/kit/index.ts'

// A killed agent leaves its children running, also in containers. Each has its owner in its environment, which its children inherit, so
// nothing has to be recorded.

const variable = 'TENANTRY_OWNER'

/** Added to the environment of a child; `owner` is the agent's data folder. */
export const ownedEnvironment = (owner: string, commandId: string): Record<string, string> => ({
  [variable]: owner,
  TENANTRY_COMMAND: commandId,
})

type Deps = Readonly<{ clock: Clock; owner: string; maxWaitMs?: number }>

/** Terminates what an earlier agent of the same owner left running, first with SIGTERM; returns how many. Does nothing without /proc. */
export async function endSurvivors({ clock, owner, maxWaitMs = 10_000 }: Deps): Promise<number> {
  const found = await survivorsOf(owner)
  for (const pid of found) signal(pid, 'SIGTERM')
  const until = clock.monotonicMs() + maxWaitMs
  while ((await survivorsOf(owner)).length > 0 && clock.monotonicMs() < until) await clock.sleep(100)
  for (const pid of await survivorsOf(owner)) signal(pid, 'SIGKILL')
  return found.length
}

async function survivorsOf(owner: string): Promise<number[]> {
  const names = await readdir('/proc').catch(() => [])
  const pids = names.filter((name) => /^[0-9]+$/.test(name) && Number(name) !== process.pid)
  const owned = await Promise.all(pids.map(async (pid) => (await environmentOf(pid)).includes(`${variable}=${owner}`)))
  return pids.filter((_, index) => owned[index]).map(Number)
}

// Processes of other users, and those that end meanwhile, have no readable environment.
const environmentOf = async (pid: string): Promise<string[]> => (await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')).split('\0')

function signal(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name)
  } catch {
    // It exited by itself.
  }
}
