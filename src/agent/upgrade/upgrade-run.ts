import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { BoxCommandPayload } from '../../core/boxes/index.ts'
import { type Clock, problem, type Random, sha256Hex } from '../../core/kit/index.ts'
import { type DiskSpace, dumpFolderOf } from '../backup/index.ts'
import type { LocalBoxes } from '../boxes/index.ts'
import type { CommandJournal, OnceOnly } from '../journal/index.ts'
import type { BoxServers, CommandContext, ContainerEngine, LocalBox } from '../ports/index.ts'

export type UpgradeDeps = Readonly<{
  engine: ContainerEngine
  servers: BoxServers
  boxes: LocalBoxes
  journal: CommandJournal
  once: OnceOnly
  disk: DiskSpace
  clock: Clock
  random: Random
  workFolder: string
  /** The agent's own folder: distinguishes the rehearsals of agents that share an engine. */
  stateFolder: string
  allowedImages: readonly string[]
}>

/** One rehearsal in the hands of one agent. */
export type UpgradeRun = Readonly<{
  deps: UpgradeDeps
  context: CommandContext
  payload: BoxCommandPayload<'tenant-box.rehearse_upgrade'>
  /** Aborts also at the deadline. */
  signal: AbortSignal
  /** Only read. */
  box: LocalBox
  /** The former version on the copy, and the new one. */
  former: LocalBox
  next: LocalBox
  folder: string
  pin: string
}>

/** The prefix of the compose projects of an agent's rehearsals. */
export const upgradeProjects = (stateFolder: string): string => `upgrade-${sha256Hex(stateFolder).slice(0, 8)}-`

const nameOf = (stateFolder: string, commandId: string): string => `${upgradeProjects(stateFolder)}${sha256Hex(commandId).slice(0, 12)}`
const projectsOf = (name: string): readonly string[] => [`${name}-former`, `${name}-next`]

export function upgradeRun(
  deps: UpgradeDeps,
  { context, payload, signal, box }: Pick<UpgradeRun, 'context' | 'payload' | 'signal' | 'box'>,
): UpgradeRun {
  const folder = dumpFolderOf(deps.workFolder, context.commandId)
  const pin = nameOf(deps.stateFolder, context.commandId)
  const server = (name: string): LocalBox => ({ ...box, ports: null, project: { name, folder, composeFile: join(folder, `${name}.yaml`) } })
  const [former = '', next = ''] = projectsOf(pin)
  return { deps, context, payload, signal, box, former: server(former), next: server(next), folder, pin }
}

/** Checks by name that nothing is left, because a slow engine may still make something. A pin alone would not be found at the next start. */
export async function clear({ deps: { engine }, pin, folder }: UpgradeRun): Promise<void> {
  await engine.unpin(pin)
  for (const name of projectsOf(pin)) await engine.removeProject(name)
  const left = await engine.projects(pin)
  if (left.length > 0)
    throw problem('CONFLICT', `containers or volumes of ${left.join(', ')} are left; the agent tries again at its next start`)
  await rm(folder, { recursive: true, force: true })
}

type SweepDeps = Readonly<{ engine: ContainerEngine; journal: CommandJournal; stateFolder: string }>

/** Removes what rehearsals left when the agent starts; open commands remove their own. Returns the projects. */
export async function sweepRehearsals({ engine, journal, stateFolder }: SweepDeps): Promise<readonly string[]> {
  const open = (await journal.open()).flatMap(({ commandId }) => projectsOf(nameOf(stateFolder, commandId)))
  const leftover = (await engine.projects(upgradeProjects(stateFolder))).filter((name) => !open.includes(name))
  for (const name of leftover) {
    await engine.removeProject(name)
    await engine.unpin(name.replace(/-(former|next)$/, ''))
  }
  return leftover
}
