import { problem } from '../../core/kit/index.ts'
import { deathWatch } from '../boxes/index.ts'
import type { BoxInside, ContainerEngine, LocalBox } from '../ports/index.ts'

/** The same inside, whose probe throws PROBE_FAILED at once when a server of the box dies: nobody waits for what will not come. */
export function watchfulInside(inside: BoxInside, engine: ContainerEngine): BoxInside {
  const keepsDying = deathWatch()
  return {
    ...inside,
    probe: async (box, signal) => {
      await needAlive(engine, box, keepsDying)
      return inside.probe(box, signal)
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
