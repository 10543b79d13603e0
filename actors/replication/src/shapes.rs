//! The shapes of stored types, for tests.
//!
//! Kept bytes show only the values of the samples. A shape shows each field and each variant of a type, also
//! of the types within it. So a changed field of any nested type is found.

/// Compares the shapes of stored types with those in a file. The types within them need no mention, except
/// enums. `values` are samples of checked types: one field of such a type does not take any text.
///
/// A line is a type with its fields, or an enum with the number, the name and the fields of a variant.
///
/// The crate of the caller needs `serde-reflection` and `serde_json` for its tests.
#[macro_export]
macro_rules! check_stored_shapes {
    ($kept:literal, values: [$($value:expr),* $(,)?], types: [$($type:ty),* $(,)?] $(,)?) => {{
        use serde_reflection::{ContainerFormat, Samples, Tracer, TracerConfig};

        let config = TracerConfig::default()
            .default_u32_value(1)
            .default_string_value("x".to_owned())
            .default_borrowed_str_value("x")
            .default_borrowed_bytes_value(b"0123456789abcdef");
        let (mut tracer, mut samples) = (Tracer::new(config), Samples::new());
        $(drop(tracer.trace_value(&mut samples, &$value).unwrap());)*
        $(
            let traced = tracer.trace_type::<$type>(&samples);
            traced.unwrap_or_else(|error| panic!("{}: {error}", stringify!($type)));
        )*
        let mut lines = Vec::new();
        for (name, format) in tracer.registry().expect("each enum is among the types") {
            match format {
                ContainerFormat::Enum(variants) => {
                    for (number, variant) in variants {
                        let fields = serde_json::to_string(&variant.value).unwrap();
                        lines.push(format!("{name} {number} {} {fields}", variant.name));
                    }
                }
                other => lines.push(format!("{name} {}", serde_json::to_string(&other).unwrap())),
            }
        }
        $crate::compare_shapes($kept, include_str!($kept), &lines);
    }};
}

/// Compares the lines of [`check_stored_shapes!`](crate::check_stored_shapes) with those of the file `name`.
///
/// # Panics
/// A line is gone or new.
pub fn compare_shapes(name: &str, kept: &str, now: &[String]) {
    let gone: Vec<&str> = kept.lines().filter(|line| !now.iter().any(|l| l == line)).collect();
    let new: Vec<&String> = now.iter().filter(|line| !kept.lines().any(|l| l == *line)).collect();
    assert!(
        gone.is_empty() && new.is_empty(),
        "Stores hold each type in {name}. Was a type, field or variant only renamed? Then replace its line. \
         Else keep the type and its line, and add the new form beside it. Gone: {gone:#?}\nNew: {new:#?}\n\
         All lines:\n\n{}\n",
        now.join("\n")
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_shapes_in_another_order_are_kept() {
        compare_shapes("kept.txt", "A 0 x\nB y\n", &["B y".to_owned(), "A 0 x".to_owned()]);
    }

    #[test]
    #[should_panic(expected = "Stores hold each type in kept.txt")]
    fn a_missing_shape_is_reported() {
        compare_shapes("kept.txt", "A 0 x\nA 1 y", &["A 0 x".to_owned()]);
    }

    #[test]
    #[should_panic(expected = "New: [\n    \"A 1 y\"")]
    fn a_new_shape_is_to_be_kept() {
        compare_shapes("kept.txt", "A 0 x", &["A 0 x".to_owned(), "A 1 y".to_owned()]);
    }
}
