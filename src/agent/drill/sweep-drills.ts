import type { CommandJournal } from '../journal/index.ts'
import type { ContainerEngine } from '../ports/index.ts'
import { drillProject, drillProjects } from './drill-run.ts'

type Deps = Readonly<{ engine: ContainerEngine; journal: CommandJournal; stateFolder: string }>

/**
 * Removes what drills left on the engine, when the agent starts: all of this agent's whose command is over or unknown. An open command clears
 * its own away. Answers the projects. Images that one which could not clear away has pinned are let go too: nothing else may be left of it.
 */
export async function sweepDrills({ engine, journal, stateFolder }: Deps): Promise<readonly string[]> {
  const open = new Set((await journal.open()).map(({ commandId }) => drillProject(stateFolder, commandId)))
  const left = (await engine.projects(drillProjects(stateFolder))).filter((name) => !open.has(name))
  for (const name of left) {
    await engine.removeProject(name)
    await engine.unpin(name)
  }
  const failed = (await journal.all()).filter(({ kind, closed }) => kind === 'tenant-box.drill' && hasError(closed?.result))
  for (const { commandId } of failed) await engine.unpin(drillProject(stateFolder, commandId))
  return left
}

const hasError = (result: unknown): boolean => Boolean((result as { error?: unknown } | null | undefined)?.error)
