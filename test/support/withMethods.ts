/** The object with some of its methods replaced; the others run on the object itself. */
export function withMethods<Target extends object>(target: Target, methods: Partial<Target>): Target {
  return new Proxy(target, {
    get: (object, name) => {
      const value: unknown = Reflect.get(methods, name) ?? Reflect.get(object, name, object);
      return typeof value === 'function' && !Object.hasOwn(methods, name) ? value.bind(object) : value;
    },
  });
}
