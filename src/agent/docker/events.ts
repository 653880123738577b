import type { EngineEvent } from '../ports/index.ts'
import type { Docker } from './connect.ts'
import { engineProblem } from './engine-problem.ts'

/** Starts, deaths and restarts, as they come. Ends when the signal aborts; throws DOCKER_UNAVAILABLE when the engine goes away. */
export async function* engineEvents(docker: Docker, signal: AbortSignal): AsyncGenerator<EngineEvent> {
  if (signal.aborted) return
  const filters = JSON.stringify({ type: ['container'], event: ['start', 'die', 'restart', 'oom'], label: ['com.docker.compose.project'] })
  const stream = await docker.getEvents({ filters }).catch((error) => {
    throw engineProblem(error, 'listening to the engine', 'DOCKER_UNAVAILABLE')
  })
  const stop = () => (stream as unknown as { destroy(): void }).destroy()
  signal.addEventListener('abort', stop, { once: true })
  try {
    let left = ''
    for await (const chunk of stream) {
      const lines = (left + chunk.toString()).split('\n')
      left = lines.pop() ?? ''
      yield* lines.flatMap(eventOf)
      if (signal.aborted) return
    }
  } catch (error) {
    if (!signal.aborted) throw engineProblem(error, 'listening to the engine', 'DOCKER_UNAVAILABLE')
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
  }
}

type Line = Readonly<{ Action?: string; Actor?: Readonly<{ Attributes?: Readonly<Record<string, string>> }> }>

function eventOf(line: string): EngineEvent[] {
  if (line.trim() === '') return []
  const { Action = '', Actor } = JSON.parse(line) as Line
  const project = Actor?.Attributes?.['com.docker.compose.project']
  const service = Actor?.Attributes?.['com.docker.compose.service']
  return project !== undefined && service !== undefined ? [{ project, service, action: Action }] : []
}
