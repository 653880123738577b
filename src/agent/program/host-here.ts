import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import { type LocalHost, localHost } from './local-host.ts'
import { type Globals, type Machine, settingsOf } from './machine.ts'

/** The host that a person stands before. Throws CONFIG where no agent has its folder: it would look like a host without boxes. */
export function hostHere(machine: Machine, options: Globals): LocalHost {
  const settings = settingsOf(machine, options)
  if (existsSync(settings.stateDir)) return localHost(machine, settings)
  throw problem(
    'CONFIG',
    `there is no ${resolve(settings.stateDir)}, so no agent keeps its boxes there: name its settings with --config, or its folder with TENANTRY_AGENT_STATE_DIR`,
  )
}
