import type { CommandJournal } from '../journal/index.ts'
import type { ContainerEngine } from '../ports/index.ts'
import { drillProject, drillProjects } from './drill-run.ts'

type Needs = Readonly<{ engine: ContainerEngine; journal: CommandJournal; stateFolder: string }>

/**
 * Removes what drills left on the engine, when the agent starts: all of this agent's whose command is over or unknown. An open command clears
 * its own away. Answers the projects.
 */
export async function sweepDrills({ engine, journal, stateFolder }: Needs): Promise<readonly string[]> {
  const open = new Set((await journal.open()).map(({ commandId }) => drillProject(stateFolder, commandId)))
  const left = (await engine.projects(drillProjects(stateFolder))).filter((name) => !open.has(name))
  for (const name of left) {
    await engine.removeProject(name)
    await engine.unpin(name)
  }
  return left
}
