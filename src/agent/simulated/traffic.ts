import { existsSync } from 'node:fs'
import { fenceSwitch } from '../boxes/index.ts'
import type { LocalBox } from '../ports/index.ts'
import { chatState, databaseState } from './servers.ts'
import type { VolumeContent } from './volumes.ts'
import { containerOf, runs, type World } from './world.ts'

/** What a client got: accepted and stored, told to come back (the fence), or no answer worth the name. */
type ClientAnswer = 'stored' | 'fenced' | 'unreachable'

/** The users of simulated boxes. Whatever was answered with `stored` must be there for ever after. */
export type Traffic = Readonly<{
  sendMessage(box: LocalBox): ClientAnswer
  uploadMedia(box: LocalBox): ClientAnswer
  /** What users would find now; all zero while a volume is away. */
  content(box: LocalBox): VolumeContent
}>

export function simulatedTraffic(world: World): Traffic {
  const volume = (box: LocalBox, service: 'postgres' | 'synapse' | 'minio') => containerOf(world, box.project.name, service)?.volumes[0]
  const read = (name: string | undefined) => world.volumes.read(name ?? '-')
  const answer = (box: LocalBox): ClientAnswer => {
    if (!runs(containerOf(world, box.project.name, 'edge'))) return 'unreachable'
    if (existsSync(fenceSwitch(box.project))) return 'fenced'
    return chatState(world, box.project.name) === 'ready' && databaseState(world, box.project.name) === 'ready' ? 'stored' : 'unreachable'
  }
  const add = (name: string | undefined, field: 'messages' | 'media' | 'objects' | 'stream') => {
    if (name !== undefined) world.volumes.change(name, { [field]: read(name)[field] + 1 })
  }
  return {
    sendMessage: (box) => {
      const got = answer(box)
      if (got !== 'stored') return got
      add(volume(box, 'postgres'), 'messages')
      add(volume(box, 'postgres'), 'stream')
      return got
    },
    uploadMedia: (box) => {
      const got = answer(box)
      if (got !== 'stored') return got
      add(volume(box, 'synapse') ?? volume(box, 'minio'), 'objects')
      add(volume(box, 'postgres'), 'media')
      return got
    },
    content: (box) => ({ ...read(volume(box, 'postgres')), objects: read(volume(box, 'synapse') ?? volume(box, 'minio')).objects }),
  }
}
