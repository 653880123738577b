import { type ExitCode, problem } from '../../core/kit/index.ts'
import { reportVersions } from '../boxes/index.ts'
import type { LocalBox } from '../ports/index.ts'
import { hostHere } from './host-here.ts'
import type { LocalHost } from './local-host.ts'
import { type Globals, type Machine, print } from './machine.ts'

// What a host knows of its boxes, for a person who stands before it while the daemon is away. Nothing here changes anything.

export async function boxList(machine: Machine, options: Globals): Promise<ExitCode> {
  const boxes = await hostHere(machine, options).boxes.list()
  const lines = boxes.map(({ slug, managed, project }) => `${slug.padEnd(41)} ${managed ? 'managed ' : 'observed'}  ${project.folder}`)
  print(machine, options, { boxes }, lines.join('\n') || 'this host has no boxes')
  return 0
}

export async function boxShow(machine: Machine, slug: string, options: Globals): Promise<ExitCode> {
  const host = hostHere(machine, options)
  const box = await boxOf(host, slug)
  const containers = await host.engine.containers(box.project)
  const lines = [
    `${slug}  ${box.managed ? 'managed' : 'observed'}, epoch ${box.ownershipEpoch}, ${box.chatDomain}`,
    `  project ${box.project.name} in ${box.project.folder}`,
    ...containers.map(
      ({ service, state, image, restartCount }) =>
        `  ${service.padEnd(9)} ${state.padEnd(11)} ${image}${restartCount > 0 ? `  restarted ${restartCount} times` : ''}`,
    ),
  ]
  print(machine, options, { box, containers }, lines.join('\n'))
  return 0
}

export async function boxVersions(machine: Machine, slug: string, options: Globals): Promise<ExitCode> {
  const host = hostHere(machine, options)
  const report = await reportVersions({ ...host, clock: machine.clock }, await boxOf(host, slug))
  const lines = Object.entries(report.installed).map(([component, version]) => `${component.padEnd(15)} ${version}`)
  print(machine, options, { report }, [...lines, ...(report.fenced ? ['the box is fenced'] : [])].join('\n'))
  return 0
}

export async function boxOf({ boxes }: LocalHost, slug: string): Promise<LocalBox> {
  const box = await boxes.find(slug)
  if (!box) throw problem('NOT_FOUND', `this host has no box ${slug}: \`tenantry-agent box list\` shows all`)
  return box
}
