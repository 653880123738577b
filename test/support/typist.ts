import { PassThrough, Writable } from 'node:stream'

/** Ends a prompt that was answered; until then it is drawn again with each key. */
const answered = /[✔√]/

/** A terminal whose person answers each prompt once its text appears, in this order. */
export function typist(answers: readonly (readonly [prompt: string, answer: string])[]) {
  const stdin = Object.assign(new PassThrough(), { isTTY: true as const })
  const left = [...answers]
  let text = ''
  let unread = ''
  let isOpen = false
  const type = (answer: string) => {
    isOpen = true
    unread = ''
    setImmediate(() => stdin.write(`${answer}\r`))
  }
  const read = (chunk: string) => {
    text += chunk
    unread += chunk
    if (isOpen && answered.test(unread)) {
      unread = unread.split(answered).pop()?.split('\n').slice(1).join('\n') ?? ''
      isOpen = false
    }
    if (!isOpen && left[0] && unread.includes(left[0][0])) type((left.shift() as (typeof answers)[number])[1])
  }
  const output = new Writable({
    write: (chunk, _, done) => {
      read(String(chunk))
      done()
    },
  })
  // A prompt ends its output; like the stderr of a process, this one stays open.
  const stderr = Object.assign(output, { isTTY: true, columns: 100, rows: 24, end: () => undefined })
  return { stdin, stderr, shown: () => text, unasked: () => left.map(([prompt]) => prompt) }
}
