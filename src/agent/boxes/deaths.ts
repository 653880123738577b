import type { ContainerState } from '../ports/index.ts'

const most = 3

/**
 * Whether a container dies again and again while it is looked at. Deaths before the first look say nothing: after a reboot of the host a server
 * dies until its database has recovered, and the engine waits up to a minute before it starts it again.
 */
export function deathWatch(): (container: Pick<ContainerState, 'id' | 'restartCount'>) => boolean {
  const before = new Map<string, number>()
  return ({ id, restartCount }) => {
    // The engine counts from 0 again when somebody starts it by hand.
    const since = Math.min(before.get(id) ?? restartCount, restartCount)
    before.set(id, since)
    return restartCount - since >= most
  }
}
