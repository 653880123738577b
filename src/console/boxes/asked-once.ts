/** A query for the view that asked alone: it is asked once, and its answer is forgotten with that view. */
export const askedOnce = {
  refetchInterval: false,
  refetchOnWindowFocus: false,
  refetchOnReconnect: false,
  staleTime: 0,
  gcTime: 0,
} as const

type Query<Answer> = Readonly<{ data: Answer | undefined; isFetching: boolean; error: unknown }>

/** The answer of such a query; undefined while it is asked again, and after a failure. */
export const presentAnswer = <Answer>({ data, isFetching, error }: Query<Answer>): Answer | undefined =>
  isFetching || error ? undefined : data
