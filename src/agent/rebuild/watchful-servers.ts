import { problem } from '../../core/kit/index.ts'
import { deathWatch } from '../boxes/index.ts'
import type { BoxServers, ContainerEngine, LocalBox } from '../ports/index.ts'

/** The same servers, whose probe throws PROBE_FAILED at once when a server of the box dies: nobody waits for what will not come. */
export function watchfulServers(servers: BoxServers, engine: ContainerEngine): BoxServers {
  const keepsDying = deathWatch()
  return {
    ...servers,
    probe: async (box, signal) => {
      await needAlive(engine, box, keepsDying)
      return servers.probe(box, signal)
    },
  }
}

async function needAlive(engine: ContainerEngine, box: LocalBox, keepsDying: ReturnType<typeof deathWatch>): Promise<void> {
  const containers = await engine.containers(box.project)
  const dead = containers.find((container) => container.state === 'exited' || keepsDying(container))
  if (!dead) return
  const said = (await engine.logs(dead.id, 5).catch(() => '')).trim().split('\n').at(-1)
  throw problem('PROBE_FAILED', `${dead.service} of ${box.project.name} dies${said ? `: ${said.slice(0, 200)}` : ''}`)
}
