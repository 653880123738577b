import { existsSync } from 'node:fs'
import type { Globals, Machine } from '../../node/machine.ts'
import { type AgentSettings, loadAgentSettings } from './settings.ts'

export { type Globals, type Machine, print } from '../../node/machine.ts'

/** The file that was named, or the usual one where it is there. */
export const settingsFileOf = ({ usualSettings }: Machine, { config }: Globals): string | undefined =>
  config ?? (usualSettings !== undefined && existsSync(usualSettings) ? usualSettings : undefined)

export const settingsOf = (machine: Machine, options: Globals): AgentSettings =>
  loadAgentSettings({ env: machine.env, file: settingsFileOf(machine, options) })
