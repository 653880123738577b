import type { EndpointShape } from '../../core/contract/index.ts'

type Known = Readonly<{ parts: readonly string[]; form: RegExp; methods: readonly string[] }>

/** Which methods a path takes, and which endpoints stand aside where a path is another's. */
export type KnownPaths = Readonly<{
  /** Of a request's path; none: it does not exist. */
  methodsOf(path: string): readonly string[]
  /** Of an endpoint: whether a request's path is that of one whose word stands where this one has a name. Undefined: it never is. */
  standsAside(endpoint: EndpointShape): ((path: string) => boolean) | undefined
}>

/** Stands for any name in a path, and after every word. */
const anyName = '\uffff'
const withoutNames = ({ path }: EndpointShape): string => path.replace(/:\w+/g, anyName)

/** Made from the table of endpoints alone: a word in a path goes before a name in its place, whatever the method. */
export function knownPaths(endpoints: readonly EndpointShape[]): KnownPaths {
  const paths = [...new Set(endpoints.map(withoutNames))].sort()
  const known = paths.map((path): Known => {
    const methods = endpoints.filter((one) => withoutNames(one) === path).map(({ method }) => method)
    return { parts: path.split('/'), form: formOf(path), methods }
  })
  return {
    methodsOf: (path) => known.find(({ form }) => form.test(path))?.methods ?? [],
    standsAside(endpoint) {
      const at = paths.indexOf(withoutNames(endpoint))
      const parts = known[at]?.parts ?? []
      const others = known.slice(0, at).filter((other) => couldMeet(other.parts, parts))
      return others.length === 0 ? undefined : (asked) => others.some(({ form }) => form.test(asked))
    },
  }
}

/** As the router takes paths: in capitals and with a slash at the end too. */
const formOf = (path: string): RegExp => new RegExp(`^${path.replace(/[.]/g, '\\.').replaceAll(anyName, '[^/]+')}/?$`, 'i')

const couldMeet = (ones: readonly string[], others: readonly string[]): boolean =>
  ones.length === others.length && ones.every((part, n) => part === others[n] || part === anyName || others[n] === anyName)
