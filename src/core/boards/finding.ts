/** A fault of a board. An error refuses its publication; `path` shows the elements that lead to it. */
export type BoardFinding = Readonly<{
  severity: 'error' | 'warning'
  code: string
  elementId: string | null
  message: string
  path?: string[]
}>

export const error = (code: string, elementId: string | null, message: string): BoardFinding => ({
  severity: 'error',
  code,
  elementId,
  message,
})

/** The beginning of a text of the author that a message quotes. */
export const quote = (text: string): string => (text.length <= maxQuote ? text : `${text.slice(0, maxQuote)}…`)

const maxQuote = 200
