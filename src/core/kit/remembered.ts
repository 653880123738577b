/**
 * Answers the same question about the same text without working it out again, as long as it is among the last so many. For pure work, with
 * answers that nobody changes. What is thrown is not remembered.
 */
export function remembered<Answer>(most: number, work: (...question: string[]) => Answer): (...question: string[]) => Answer {
  const known = new Map<string, Answer>()
  return (...question) => {
    const key = JSON.stringify(question)
    const answer = known.has(key) ? (known.get(key) as Answer) : work(...question)
    known.delete(key)
    known.set(key, answer)
    const [oldest] = known.keys()
    if (known.size > most && oldest !== undefined) known.delete(oldest)
    return answer
  }
}
