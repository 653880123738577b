import { LRUCache } from 'lru-cache'

/**
 * Answers the same question about the same text without working it out again, as long as it is among the last so many. For pure work, with
 * answers that nobody changes. What is thrown is not remembered.
 */
export function remembered<Answer extends object | string>(
  max: number,
  work: (...input: string[]) => Answer,
): (...input: string[]) => Answer {
  const answers = new LRUCache<string, Answer, string[]>({ max, memoMethod: (_key, _stale, { context }) => work(...context) })
  return (...input) => answers.memo(JSON.stringify(input), { context: input })
}
