import { isProblem } from '../../core/kit/index.ts'
import { boxOfCommand, boxOfStartedCommand } from '../boxes/index.ts'
import type { CommandExecutor } from '../ports/index.ts'
import { runOnce } from '../saga/index.ts'
import type { ImportDeps } from './import-run.ts'
import { importOf, writtenSince } from './undo-import.ts'

/** Reads the loss of an undo and the objects that finishing removes. Changes nothing. */
export const importState =
  (deps: ImportDeps): CommandExecutor<'tenant-box.import_state'> =>
  async ({ signal }, payload) => {
    const box = await boxOfCommand(deps.boxes, payload)
    const { at, stack } = importOf(box)
    const containers = (await deps.engine.projectContainers(stack.project)).filter(({ isRunning }) => !isRunning)
    const volumes = await deps.engine.projectVolumes(stack.project)
    return {
      importedAt: at,
      written: await writtenSince(deps, box, signal),
      stack: { project: stack.project, containers: containers.map(({ name }) => name), volumes: [...volumes] },
    }
  }

const kind = 'tenant-box.finish_import'

/** Ends the return path. Running containers of the stack's project stay: they are not part of the box, as the plan said. */
export const finishImport =
  (deps: ImportDeps): CommandExecutor<typeof kind> =>
  (context, payload) =>
    runOnce(
      deps.once,
      { context, kind, payload },
      {
        admit: async () => void importOf(await boxOfCommand(deps.boxes, payload)),
        perform: async () => {
          const { imported, ...box } = await boxOfStartedCommand(deps.boxes, payload)
          // A run before this one has ended it.
          if (!imported) return { removed: [] }
          const removed = await removeStack(deps, imported.stack.project, payload.volumes)
          await deps.boxes.put(box)
          return { removed }
        },
      },
    )

async function removeStack({ engine }: ImportDeps, project: string, volumes: boolean): Promise<string[]> {
  const containers = await engine.projectContainers(project)
  const stopped = containers.filter(({ isRunning }) => !isRunning)
  await engine.removeContainers(stopped.map(({ id }) => id))
  const removed = [
    ...stopped.map(({ name }) => `container ${name}`),
    ...containers.filter(({ isRunning }) => isRunning).map(({ name }) => `left: container ${name} (running)`),
  ]
  for (const volume of await engine.projectVolumes(project)) {
    const isRemoved = volumes && (await engine.removeVolume(volume).then(() => true, leaveIfUsed))
    removed.push(isRemoved ? `volume ${volume}` : `left: volume ${volume}`)
  }
  return removed
}

function leaveIfUsed(error: unknown): false {
  if (isProblem(error, 'CONFLICT')) return false
  throw error
}
