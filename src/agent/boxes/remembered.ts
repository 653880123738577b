import { LRUCache } from 'lru-cache'

/**
 * Memoises a pure function of texts for its `max` most recent inputs. Results must not be changed by callers; errors are not cached.
 */
export function remembered<Answer extends object | string>(
  max: number,
  work: (...input: string[]) => Answer,
): (...input: string[]) => Answer {
  const answers = new LRUCache<string, Answer, string[]>({ max, memoMethod: (_key, _stale, { context }) => work(...context) })
  return (...input) => answers.memo(JSON.stringify(input), { context: input })
}
