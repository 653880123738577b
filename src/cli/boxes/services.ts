import { Service, type ServiceUsage } from '../../core/boxes/index.ts'
import { bytesText, problem } from '../../core/kit/index.ts'
import { command, lasted, many, type Style, sections, table } from '../kit/index.ts'
import { awaitAnswer } from './await-command.ts'

/** For each verb that takes some of the services of a box. */
export const serviceOption = many('--service <name>', 'edge, synapse, postgres or minio; comma-separated (default: all)')

/** Undefined: all. Throws USAGE. */
export const servicesOf = (names: readonly string[]): Service[] | undefined => (names.length > 0 ? names.map(serviceOf) : undefined)

function serviceOf(name: string): Service {
  const { data } = Service.safeParse(name)
  if (!data) throw problem('USAGE', `unknown service ${name}. fix: edge, synapse, postgres or minio`)
  return data
}

type Measured = Readonly<{ at: string; services: readonly ServiceUsage[] }>

export const services = command('services <slug>', 'Show the services of a box with CPU and memory', {
  reads: true,
  run: async (context, { slug }): Promise<Measured> => {
    const { commandId } = await context.api.boxes.readServices({ params: { slug } })
    const { result } = await awaitAnswer(context, { id: commandId, slug })
    return result as Measured
  },
  view: servicesView,
  examples: ['services anna-schule'],
})

function servicesView({ at, services: rows }: Measured, style: Style): string {
  return sections(
    table(
      style,
      [
        { title: 'SERVICE', value: ({ service }) => service, priority: 1 },
        { title: 'STATE', value: stateText, priority: 1, paint: ({ state }) => (state === 'running' ? 'green' : 'red') },
        {
          title: 'UPTIME',
          value: ({ state, startedAt }) => (state === 'running' ? lasted(startedAt, at, new Date(0)) : undefined),
          priority: 2,
        },
        { title: 'RESTARTS', value: ({ restarts }) => restarts, priority: 2, align: 'right' },
        { title: 'CPU %', value: ({ cpuPercent }) => cpuPercent?.toFixed(1), priority: 1, align: 'right' },
        {
          title: 'MEMORY',
          value: ({ memoryBytes }) => (memoryBytes === null ? undefined : bytesText(memoryBytes)),
          priority: 1,
          align: 'right',
        },
        { title: 'IMAGE', value: ({ image }) => image, priority: 3, minWidth: 20 },
      ],
      rows,
    ),
    `As of ${at.slice(0, 19).replace('T', ' ')} UTC. CPU is of one core.`,
  )
}

const stateText = ({ state, exitCode }: ServiceUsage): string => (state === 'exited' && exitCode !== null ? `exited (${exitCode})` : state)
