import type { AgentDeps } from './agent-deps.ts'
import type { CommandRunner } from './command-runner.ts'
import type { AgentClient, Connection } from './connection.types.ts'

export type Session = AgentDeps & Readonly<{ client: AgentClient; connection: Connection; runner: CommandRunner }>
