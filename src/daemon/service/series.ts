/** A metric and its labels. Samples of all its series stand together in the text. */
type Family = Readonly<{ type: 'gauge' | 'counter'; labels: readonly string[]; help: string }>

export type Families = Readonly<Record<string, Family>>

/** A longer value is cut: agents report versions as free text. */
const maxValueLength = 100

/** One label in the text format of Prometheus. A control character becomes a space, because one could end the answer for its reader. */
export const label = (name: string, value: string): string =>
  `${name}="${value
    .slice(0, maxValueLength)
    .replace(/\p{Cc}/gu, ' ')
    .replace(/[\\"]/g, '\\$&')}"`

/** Samples of families in the text format of Prometheus. A value that is not known has no sample. */
export function makeSeries<All extends Families>(families: All) {
  const samples = new Map<keyof All, string[]>(Object.keys(families).map((name) => [name, []]))
  return {
    add(name: keyof All & string, labels: string, value: number | null | undefined): void {
      if (value === null || value === undefined) return
      samples.get(name)?.push(labels === '' ? `${name} ${value}\n` : `${name}{${labels}} ${value}\n`)
    },
    /** 1 for the current of several states, 0 for the others. */
    addState(name: keyof All & string, labels: string, { key, states, current }: State): void {
      for (const state of states) this.add(name, `${labels},${key}="${state}"`, state === current ? 1 : 0)
    },
    /** The text, one family after the other. */
    *text(): Generator<string> {
      for (const [name, { type, help }] of Object.entries(families)) {
        yield `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${samples.get(name)?.join('') ?? ''}`
      }
    },
  }
}

type State = Readonly<{ key: string; states: readonly string[]; current: string }>

export type Series<All extends Families> = ReturnType<typeof makeSeries<All>>
