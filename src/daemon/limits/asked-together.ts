import { setImmediate as yieldToEventLoop } from 'node:timers/promises'

type Asked<Question, Answer> = Readonly<{ question: Question; answer(answer: Answer): void; fail(error: unknown): void }>

/**
 * A round costs little more for many than for one: whoever asks alone is asked for at once, and while a round is under way those who ask in one
 * turn of the event loop share the next, at most so many, in the order they came. A round that fails fails for all who were in it.
 */
export function askedTogether<Question, Answer>(
  most: number,
  round: (questions: readonly Question[]) => Promise<readonly Answer[]>,
): (question: Question) => Promise<Answer> {
  let waiting: Asked<Question, Answer>[] = []
  let underWay = 0
  const ask = async (asked: readonly Asked<Question, Answer>[]) => {
    underWay++
    try {
      const answers = await round(asked.map(({ question }) => question))
      for (const [n, one] of asked.entries()) one.answer(answers[n] as Answer)
    } catch (error) {
      for (const one of asked) one.fail(error)
    } finally {
      underWay--
    }
  }
  const askAll = () => {
    const all = waiting
    waiting = []
    for (let from = 0; from < all.length; from += most) void ask(all.slice(from, from + most))
  }
  return (question) =>
    new Promise((answer, fail) => {
      waiting.push({ question, answer, fail })
      if (underWay === 0) askAll()
      else if (waiting.length === 1) void yieldToEventLoop().then(askAll)
    })
}
