import { existsSync } from 'node:fs'
import type { ProbeComponent, ProbeResult } from '../../core/boxes/index.ts'
import { isoNow } from '../../core/kit/index.ts'
import { fenceSwitch } from '../boxes/index.ts'
import type { LocalBox } from '../ports/index.ts'
import { chatState, databaseState, objectsState, type ServerState } from './servers.ts'
import { containerOf, runs, type World } from './world.ts'

/** One writing probe of a simulated box, directly and through its edge. */
export async function probeSimulated(world: World, box: LocalBox, signal?: AbortSignal): Promise<ProbeResult> {
  await world.faults.linger('probeMs', signal)
  const { name } = box.project
  const database = databaseState(world, name)
  const chat = chatState(world, name)
  // As with a real one: a box without listeners of its edge is asked directly alone.
  const edge = box.ports === null || runs(containerOf(world, name, 'edge')) ? undefined : 'the edge refuses connections'
  const broken = brokenBy(world, box)
  const chatError = chat === 'ready' ? edge : saying('the chat server', chat)
  const databaseError = database === 'ready' ? undefined : saying('the database', database)
  const objectsError = objectsState(world, name) === 'ready' ? edge : 'the object store does not answer'
  const errors: Record<ProbeComponent, string | undefined> = {
    chatApi: broken.has('chatApi') ? '500 from /versions' : chatError,
    chatSync: broken.has('chatSync') ? '500 on sending an event' : (chatError ?? databaseError),
    database: broken.has('database') ? 'the write was refused' : databaseError,
    objectStorage: broken.has('objectStorage') ? 'the upload failed' : objectsError,
  }
  if (!Object.values(errors).some(Boolean)) writeProbe(world, name)
  return result(world, errors, broken.size === 0 ? verdictOf(database, chat, objectsError) : 'failed')
}

const saying = (who: string, state: ServerState) =>
  state === 'absent' ? `${who} does not run` : state === 'upgrading' ? `${who} upgrades its schema` : `${who} is starting`

const allComponents: readonly ProbeComponent[] = ['chatApi', 'chatSync', 'database', 'objectStorage']

function brokenBy(world: World, box: LocalBox): ReadonlySet<ProbeComponent> {
  const image = containerOf(world, box.project.name, 'synapse')?.image
  const isOpen = !existsSync(fenceSwitch(box.project))
  const at = { box: box.slug, ...(image === undefined ? {} : { image }) }
  const fault = world.faults.strike('probe-fails', at, ({ onceOpen = false }) => isOpen || !onceOpen)
  return new Set(fault ? (fault.components ?? allComponents) : [])
}

function verdictOf(database: ServerState, chat: ServerState, objectsError: string | undefined): ProbeResult['verdict'] {
  if (database === 'starting') return 'recovering'
  return chat === 'upgrading' && database === 'ready' && objectsError === undefined ? 'upgrading' : 'failed'
}

function result(world: World, errors: Record<ProbeComponent, string | undefined>, otherwise: ProbeResult['verdict']): ProbeResult {
  const first = allComponents.find((component) => errors[component] !== undefined)
  const component = (name: ProbeComponent) => {
    const error = errors[name]
    return { ok: error === undefined, ms: world.faults.draw('probeMs'), ...(error === undefined ? {} : { error }) }
  }
  return {
    at: isoNow(world.clock),
    verdict: first === undefined ? 'ok' : otherwise,
    components: {
      chatApi: component('chatApi'),
      chatSync: component('chatSync'),
      database: component('database'),
      objectStorage: component('objectStorage'),
    },
    ...(first === undefined ? {} : { reason: `${first}: ${errors[first]}` }),
  }
}

function writeProbe(world: World, project: string): void {
  const volume = containerOf(world, project, 'postgres')?.volumes[0]
  if (volume !== undefined) world.volumes.change(volume, { probes: world.volumes.read(volume).probes + 1 })
}
