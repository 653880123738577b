import type { HeldCommand, HostResources } from '../../core/hosts/index.ts'
import { type AgentActor, isoNow } from '../../core/kit/index.ts'
import type { HostsDeps } from './deps.ts'
import { renewHeld } from './held-commands.ts'
import { saveMachine } from './host.repo.ts'

type Heartbeat = Readonly<{
  holding: readonly HeldCommand[]
  resources?: HostResources | null | undefined
  clockOffsetMs?: number | null | undefined
}>

/** Renews what the agent works on, keeps what it says of its machine, and tells what it has lost and what time it is. */
export async function takeHeartbeat(deps: HostsDeps, agent: AgentActor, { holding, resources, clockOffsetMs }: Heartbeat) {
  const serverTime = isoNow(deps.clock)
  const lost = await deps.db.transaction().execute(async (tx) => {
    await saveMachine(tx, agent.hostId, { resources, clockOffsetMs, at: serverTime })
    return renewHeld(tx, deps, agent, holding)
  })
  return { lost: lost.map(({ id }) => id), serverTime }
}
