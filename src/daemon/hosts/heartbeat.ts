import type { HeldCommand, HostResources } from '../../core/hosts/index.ts'
import { type AgentActor, isoNow } from '../../core/kit/index.ts'
import { renewHeld } from './held-commands.ts'
import { saveMachine } from './host.repo.ts'
import type { HostsNeeds } from './needs.ts'

type Heartbeat = Readonly<{
  holding: readonly HeldCommand[]
  resources?: HostResources | null | undefined
  clockOffsetMs?: number | null | undefined
}>

/** Renews what the agent works on, keeps what it says of its machine, and tells what it has lost and what time it is. */
export async function takeHeartbeat(needs: HostsNeeds, agent: AgentActor, { holding, resources, clockOffsetMs }: Heartbeat) {
  const serverTime = isoNow(needs.clock)
  const lost = await needs.db.transaction().execute(async (tx) => {
    await saveMachine(tx, agent.hostId, { resources, clockOffsetMs, at: serverTime })
    return renewHeld(tx, needs, agent, holding)
  })
  return { lost: lost.map(({ id }) => id), serverTime }
}
