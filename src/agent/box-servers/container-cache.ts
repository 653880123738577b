import type { Service } from '../../core/boxes/index.ts'
import type { ContainerEngine } from '../ports/index.ts'
import { type BoxView, runningId } from './box-view.ts'

type Read<Value> = (engine: ContainerEngine, view: BoxView, signal?: AbortSignal) => Promise<Value>

/**
 * Caches by engine and container an answer that is the same for the life of a container, such as its environment or the version of its server:
 * reading it starts a program. Caches neither errors nor `undefined`. Throws BOX_UNHEALTHY while the service is not running.
 */
export function cachedByContainer<Value>(service: Service, read: Read<Value>): Read<Value> {
  const engines = new WeakMap<ContainerEngine, Map<string, Value>>()
  return async (engine, view, signal) => {
    const id = runningId(view, service)
    const known = engines.get(engine) ?? new Map<string, Value>()
    engines.set(engine, known)
    const value = known.get(id) ?? (await read(engine, view, signal))
    if (value !== undefined) known.set(id, value)
    return value
  }
}
