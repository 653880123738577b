import { z } from 'zod'
import type { ChatEvidence } from '../../core/boxes/index.ts'
import { asJson, isProblem, problem } from '../../core/kit/index.ts'
import type { ContainerEngine, HostContainer } from '../ports/index.ts'
import { chatScript, python } from './chat-script.ts'

const Connection = z.object({ address: z.string(), port: z.number(), toAddress: z.string(), toPort: z.number() })
type Connection = z.infer<typeof Connection>

const Answer = z.object({
  version: z.string().max(100).nullable(),
  startedAt: z.string(),
  apps: z.array(z.string().max(100)),
  unread: z.array(z.string()).max(500),
  config: z.array(
    z.object({
      path: z.string(),
      changedAt: z.string(),
      problem: z.string().nullable(),
      settings: z.record(z.string(), z.object({ line: z.number().int(), value: z.unknown() })),
    }),
  ),
  keyApiName: z.string().nullable(),
  clientApiAnswers: z.boolean(),
  signingKeyId: z.string().nullable(),
  otherSigningKeyIds: z.array(z.string().max(200)).max(50),
  connections: z.array(Connection),
  mediaPath: z.string(),
  database: z.record(z.string(), z.string()),
})

const Workers = z.object({ workers: z.array(z.string().max(100)) })

/** The running chat server of a stack. */
export type RunningChat = Readonly<{
  container: HostContainer
  /** Containers with worker processes alone. */
  workers: readonly HostContainer[]
  evidence: ChatEvidence
  connections: readonly Connection[]
  mediaPath: string
  /** `host`, `dbname` and `user` of its settings: where a socket says nothing, they do. */
  database: Readonly<Record<string, string>>
}>

/** The container whose process is a chat server, whatever its service is called. Throws BOX_UNHEALTHY where none runs. */
export async function findChat(engine: ContainerEngine, containers: readonly HostContainer[], signal: AbortSignal): Promise<RunningChat> {
  const found = await Promise.all(containers.map((container) => chatIn(engine, container, signal)))
  const chats = found.filter((one) => one !== undefined && one !== 'worker')
  const workers = containers.filter((_, at) => found[at] === 'worker')
  const [chat, other] = chats
  if (!chat)
    throw problem('BOX_UNHEALTHY', 'No chat server (Synapse) runs in a container of the stack. fix: start it, then plan the import again')
  if (other)
    throw problem(
      'BOX_UNHEALTHY',
      `Chat servers run in ${chat.container.name} and ${other.container.name}. fix: stop the one that is not in use`,
    )
  return { ...chat, workers, evidence: { ...chat.evidence, workers: workers.map(({ name }) => name) } }
}

/** A container that is paused, restarts or has just ended runs no program. */
export const execIfRunning: (engine: ContainerEngine, ...call: Parameters<ContainerEngine['exec']>) => ReturnType<ContainerEngine['exec']> =
  (engine, ...call) =>
    engine.exec(...call).catch((error: unknown) => {
      if (isProblem(error) && error.code === 'BOX_UNHEALTHY') return { exitCode: -1, stdout: '', stderr: error.message }
      throw error
    })

async function chatIn(engine: ContainerEngine, container: HostContainer, signal: AbortSignal): Promise<RunningChat | 'worker' | undefined> {
  const { exitCode, stdout } = await execIfRunning(engine, container.id, python(chatScript), { signal })
  // Other containers have no Python, or one without the library.
  if (exitCode !== 0 || stdout.trim() === 'null') return undefined
  const answer = asJson(stdout)
  if (Workers.safeParse(answer).success) return 'worker'
  const parsed = Answer.safeParse(answer)
  if (!parsed.success) throw problem('BOX_UNHEALTHY', `The chat server in ${container.name} cannot be read`, { cause: parsed.error })
  const { connections, mediaPath, database, ...evidence } = parsed.data
  return {
    ...{ container, workers: [], connections, mediaPath, database },
    evidence: { ...evidence, container: container.name, image: container.image, workers: [] },
  }
}
