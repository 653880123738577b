import { LRUCache } from 'lru-cache'
import type { LoadCode, ModuleCode } from './deps.ts'

const maxBytes = 64_000_000

const bytesOf = ({ files }: ModuleCode) => Object.values(files).reduce((sum, text) => sum + text.length, 1_000)

/** Keeps the code of the versions that ran last in memory. A version never changes, so an entry is never wrong. */
export function cachedCode(load: LoadCode): LoadCode {
  const cache = new LRUCache<string, ModuleCode>({ maxSize: maxBytes, sizeCalculation: bytesOf })
  const loading = new Map<string, Promise<ModuleCode>>()
  const loadOnce = async (key: string, version: Parameters<LoadCode>[0]) => {
    try {
      const code = await load(version)
      cache.set(key, code)
      return code
    } finally {
      loading.delete(key)
    }
  }
  return async (version) => {
    const key = `${version.moduleId}@${version.version}`
    const found = cache.get(key) ?? loading.get(key)
    if (found) return found
    const pending = loadOnce(key, version)
    loading.set(key, pending)
    return pending
  }
}
