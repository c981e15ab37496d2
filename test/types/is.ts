// Whether a value has exactly the expected type: neither wider, narrower nor `any`. Compiled, never run.

export declare function is<Expected>(): <Given>(
  given: (<T>() => T extends Expected ? 1 : 2) extends <T>() => T extends Given ? 1 : 2 ? Given : never,
) => void;
