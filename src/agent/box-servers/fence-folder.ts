import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fenceSwitch } from '../boxes/index.ts'
import type { ContainerEngine } from '../ports/index.ts'
import type { BoxView } from './box-view.ts'

const inEdge = '/etc/nginx/fence'

/**
 * Whether the edge sees the very folder in which the switch is put. One that was removed and made again is another one to the container:
 * the box looks well, and the next update would write to it while people do.
 */
export async function fenceIsMounted(engine: ContainerEngine, { box, secrets, container }: BoxView, signal?: AbortSignal): Promise<void> {
  const edge = container('edge')
  if (!secrets || edge?.state !== 'running') return
  const folder = dirname(fenceSwitch(box.project))
  const here = await stat(folder).catch(() => undefined)
  if (!here) throw new Error(`the edge's fence folder ${folder} is gone: make it again, then recreate the edge`)
  const { exitCode, stdout } = await engine.exec(edge.id, ['stat', '-c', '%i', inEdge], signal ? { signal } : {})
  if (exitCode !== 0) throw new Error(`the edge has no fence folder at ${inEdge}: it could not be closed`)
  if (Number(stdout.trim()) !== here.ino) throw new Error(`the edge does not see ${folder} but a folder that is gone: recreate the edge`)
}
