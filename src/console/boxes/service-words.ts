import type { ServiceUsage } from '../../core/boxes/index.ts'
import { bytesText } from '../../core/kit/index.ts'

/** Texts of the services of a box and of their logs. */
export const serviceWords = {
  title: 'Services',
  logs: 'Logs',
  service: 'Service',
  state: 'State',
  running: 'Running since',
  restarts: 'Restarts',
  cpu: 'CPU of a core',
  memory: 'Memory',
  image: 'Image',
  none: 'No service has a container.',
  restartBox: 'Restart the box…',
  restart: 'Restart…',
  restartTitle: (slug: string, service: string | undefined) => `Restart ${service ? `${service} of ${slug}` : slug}?`,
  restartEffect:
    'Its users are disconnected until its servers answer again. Its containers, data and versions stay; rollouts wait for it, and no alert is raised.',
  restartConfirm: 'Restart',
  follow: 'Follow',
  pause: 'Stop following',
  filter: 'Filter lines',
  tail: 'Begin with',
  noLines: 'No lines yet.',
  noMatch: 'No line matches the filter.',
  idle: 'Follow the logs of the services as they write. Secrets are removed; opening them is audited.',
  leftOut: 'Some lines were left out: the services write more than can be sent.',
  lastFailure: 'The lines of the last failed update',
  reconnecting: 'The stream is away; it is opened again.',
} as const

export const stateText = ({ state, exitCode }: ServiceUsage): string =>
  state === 'exited' && exitCode !== null ? `exited (${exitCode})` : state

export const cpuText = ({ cpuPercent }: ServiceUsage): string => (cpuPercent === null ? '–' : `${cpuPercent.toFixed(1)} %`)

export const memoryText = ({ memoryBytes, memoryLimitBytes }: ServiceUsage): string =>
  memoryBytes === null ? '–' : `${bytesText(memoryBytes)}${memoryLimitBytes === null ? '' : ` of ${bytesText(memoryLimitBytes)}`}`
