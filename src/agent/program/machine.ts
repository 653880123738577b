import type { Globals, Machine } from '../../node/machine.ts'
import { type AgentSettings, loadAgentSettings } from './settings.ts'

export { type Globals, type Machine, print } from '../../node/machine.ts'

export const settingsOf = ({ env }: Machine, { config }: Globals): AgentSettings => loadAgentSettings({ env, file: config })
